"""The provider service `echo`: llm-katan's echo server, and hand-made answers where it has no wire format."""
