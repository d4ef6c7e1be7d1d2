SELECT; -- The migrations before it drop the tables.
