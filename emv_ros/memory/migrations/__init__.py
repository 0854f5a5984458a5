"""Alembic migrations of the memory's schema, as small named steps."""
