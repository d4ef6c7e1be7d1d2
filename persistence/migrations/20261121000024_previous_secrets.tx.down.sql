DROP INDEX subscriptions_rotating;
