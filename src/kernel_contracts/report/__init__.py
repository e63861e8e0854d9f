"""Results for people and for other tools: terminal stories, JSON lines."""
