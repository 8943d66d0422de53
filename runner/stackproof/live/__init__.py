"""Real calls to providers: who has asked for them, and what they need."""
