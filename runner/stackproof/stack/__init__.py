"""Starting and stopping the software under test, wherever it runs."""
