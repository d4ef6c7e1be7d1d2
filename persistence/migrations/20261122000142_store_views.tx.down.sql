DROP INDEX sessions_by_view;
