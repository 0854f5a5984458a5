"""The store: schema, migrations, pictures, writing in batches, exact queries."""
