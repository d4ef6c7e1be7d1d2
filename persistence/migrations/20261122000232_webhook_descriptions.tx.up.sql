ALTER TABLE subscriptions ADD COLUMN description text NOT NULL DEFAULT '';
