"""Weighs evidence against the release policy: expected against found, a line per rule, never green without evidence."""
