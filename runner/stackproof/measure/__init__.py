"""Coverage of the tests' process, the stack's processes and containers, gathered and combined when it is asked for."""
