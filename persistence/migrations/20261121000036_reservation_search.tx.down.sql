-- This also drops the indexes of the columns.
ALTER TABLE reservations DROP COLUMN search_name, DROP COLUMN search_surname, DROP COLUMN search_email,
    DROP COLUMN search_phone;
