-- Finds the sessions that must leave a deleted view.
CREATE INDEX sessions_by_view ON sessions (active_view_id);
