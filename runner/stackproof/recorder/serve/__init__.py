"""What a stack in a process of its own needs: the recorder inside, and to know whose request it serves."""
