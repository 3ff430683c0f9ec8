"""Between Python and machine code: structs both read by name, one way to compile, load and call native functions."""
