-- Number of consecutive quick responses of a slow receiver. After a certain number it counts as quick again.
ALTER TABLE subscription_health ADD quick_streak integer NOT NULL DEFAULT 0;
