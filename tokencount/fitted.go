package tokencount

func fitted() []fittedProfile { return nil }
