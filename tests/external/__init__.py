"""Other projects' tests, run under jitcore."""
