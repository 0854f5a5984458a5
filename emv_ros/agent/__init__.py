"""The agent: a language model that explores the memory from a sandboxed console and answers with evidence."""
