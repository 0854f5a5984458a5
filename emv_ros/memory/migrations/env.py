"""Alembic's environment: it runs on the connection that emv_ros.memory.migrate hands over."""

from alembic import context

from emv_ros.memory.columns import Base

connection = context.config.attributes.get('connection')
if connection is None:
    raise RuntimeError('migrations are run by opening the memory, not by the alembic command')

context.configure(
    connection=connection, target_metadata=Base.metadata,
    render_as_batch=connection.dialect.name == 'sqlite', transactional_ddl=True)
with context.begin_transaction():
    context.run_migrations()
