ALTER TABLE subscriptions DROP COLUMN description;
