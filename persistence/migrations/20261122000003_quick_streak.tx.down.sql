ALTER TABLE subscription_health DROP COLUMN quick_streak;
