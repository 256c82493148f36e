"""A cluster of three Postgres servers that Patroni moves from one to another."""
