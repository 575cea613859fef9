package main

import "github.com/forge-agent/forge/tokencount"

func teachers(name string) tokencount.TextWeights {
	switch name {
	case "claude2":
		return tokencount.TextWeights{0.758, 0.327, 0.689, 0.020, 0.022, 0.395, 0.321, -0.075, 0.426, 1.136}
	case "gemma3":
		return tokencount.TextWeights{0.647, 0.337, 0.574, 0.666, 0.036, 0.529, 0.595, 0.041, 0.068, 0.583}
	case "deepseek_v3":
		return tokencount.TextWeights{0.962, 0.085, 0.224, -0.002, 0.014, 0.087, 0.029, 0.005, -0.059, 0.586}
	case "qwen3":
		return tokencount.TextWeights{0.931, 0.091, 0.083, 0.542, 0.013, -0.018, 0.059, 0.002, -0.031, 0.694}
	case "llama3":
		return tokencount.TextWeights{1.036, 0.043, 0.067, -0.035, 0.001, -0.075, -0.009, -0.004, -0.073, 0.575}
	}
	return tokencount.TextWeights{}
}
