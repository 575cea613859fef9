package codexapp

import "io"

// Connect replaces the start of the program.
func (o *Options) Connect(connect func() (in io.WriteCloser, out io.Reader, stop func(), told func() (string, string), err error)) {
	o.connect = func() (conn, error) {
		in, out, stop, told, err := connect()
		return conn{in: in, out: out, stop: stop, told: told}, err
	}
}

// Wrap writes messages as the wrapper does.
var Wrap = wrap

// CommandsOf reads a command line.
var CommandsOf = commandsOf

// CheckVersion reads a version.
var CheckVersion = checkVersion

// ReadLine reads a bounded line.
var ReadLine = readLine

// Parse reads a message of the server.
func Parse(line []byte) bool {
	_, ok := parse(line)
	return ok
}
