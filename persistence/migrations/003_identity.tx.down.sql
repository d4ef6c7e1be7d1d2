DROP TABLE customer_email_changes, customer_password_resets, used_id_tokens, customer_identities, customer_sessions,
    addresses, customers, api_keys, password_resets, sessions, invitations, memberships, users;
DROP FUNCTION end_customer_email_change, end_customer_password_resets, end_password_resets, end_invitations_of_user,
    end_invitations_of_member, mirror_membership;
