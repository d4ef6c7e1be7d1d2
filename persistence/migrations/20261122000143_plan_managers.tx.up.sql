-- Who changes the plan of a website: its OWNERs, or platform administrators only.
ALTER TABLE websites ADD COLUMN plan_managed_by text NOT NULL DEFAULT 'OWNER'
    CHECK (plan_managed_by IN ('OWNER', 'PLATFORM'));
