//! Runs a program faithfully: exec, signals, exit status, process tree
