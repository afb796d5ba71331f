-- rowlock on MariaDB: when a job is due, by this server's clock and time zones. A schedule in its
-- normal form is "every 1h30m" or "cron 0 4 * * mon Europe/Berlin", as src/schedule writes it;
-- equal texts mean equal schedules. src/schedule is the same for databases without procedures, and
-- documents the rules; tests/sessions/server_schedule_test compares the two.

{own_mode};

DELIMITER //

-- The number from 0 to p_span - 1 that H means in the field p_place (0 minute to 4 day of week):
-- src/schedule/cron_seek.c.
CREATE OR REPLACE PROCEDURE rowlock_cron_hash(
    IN p_place INT, IN p_job VARBINARY(255), IN p_span INT, OUT p_number INT)
    SQL SECURITY INVOKER NO SQL
BEGIN
    DECLARE v_bytes VARBINARY(256) DEFAULT CONCAT(p_place, p_job);
    DECLARE v_hash BIGINT UNSIGNED DEFAULT 14695981039346656037;
    DECLARE v_i INT DEFAULT 1;

    WHILE v_i <= LENGTH(v_bytes) DO
        SET v_hash = v_hash ^ ORD(SUBSTRING(v_bytes, v_i, 1));
        SET v_hash = {hashed 1099511628211};
        SET v_i = v_i + 1;
    END WHILE;
    SET v_hash = v_hash ^ (v_hash >> 33);
    SET v_hash = {hashed 18397679294719823053};
    SET v_hash = v_hash ^ (v_hash >> 33);
    SET v_hash = {hashed 14181476777654086739};
    SET v_hash = v_hash ^ (v_hash >> 33);
    SET p_number = v_hash MOD p_span;
END//

-- Reads one item of a field of a cron line, such as 1-5/2, and adds its normal form and its
-- numbers, as bits, to the field's. p_wrong: the mistake; NULL: none.
CREATE OR REPLACE PROCEDURE rowlock_cron_item(
    IN p_item VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, IN p_place INT,
    IN p_job VARBINARY(255),
    INOUT p_normal VARCHAR(2000) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    INOUT p_numbers BIGINT UNSIGNED, OUT p_wrong VARCHAR(400) CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER NO SQL
BEGIN
    DECLARE v_allowed VARCHAR(60) CHARACTER SET utf8mb4 DEFAULT ELT(p_place + 1, '0 to 59',
        '0 to 23', '1 to 31', '1 to 12 and jan to dec',
        '0 to 7, where 0 and 7 are Sunday, and sun to sat');
    DECLARE v_low INT DEFAULT ELT(p_place + 1, 0, 0, 1, 1, 0);
    DECLARE v_high INT DEFAULT ELT(p_place + 1, 59, 23, 31, 12, 7);
    DECLARE v_span INT DEFAULT ELT(p_place + 1, 60, 24, 31, 12, 7);
    DECLARE v_range, v_from, v_to VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT SUBSTRING_INDEX(p_item, '/', 1);
    DECLARE v_first, v_last INT;
    DECLARE v_step INT DEFAULT 1;
    DECLARE v_numbers BIGINT UNSIGNED DEFAULT 0;
    DECLARE v_hashed, v_stepped TINYINT;

    SET p_wrong = NULL, v_hashed = v_range LIKE 'H(%' OR v_range = 'H',
        v_stepped = LOCATE('/', p_item) > 0;
    IF p_item NOT REGEXP CONCAT('^([*]|H([(][0-9A-Za-z]+-[0-9A-Za-z]+[)])?|[0-9A-Za-z]+',
                                '(-[0-9A-Za-z]+)?)(/[0-9]+)?\\z') THEN
        SET p_wrong = CONCAT('"', p_item, '" is not understood: allowed are ', v_allowed,
                             ', *, and , - / between');
    ELSEIF v_range IN ('*', 'H') THEN
        SET v_first = v_low,
            v_last = IF(v_range = '*', v_low + v_span - 1, ELT(p_place + 1, 59, 23, 28, 12, 6));
    ELSE
        SET v_range = IF(v_hashed, SUBSTRING(v_range, 3, CHAR_LENGTH(v_range) - 3), v_range);
        SET v_from = SUBSTRING_INDEX(v_range, '-', 1), v_to = SUBSTRING_INDEX(v_range, '-', -1);
        SET v_first = {cron_value v_from}, v_last = {cron_value v_to};
        -- fri-sun: a week may end on the Sunday that is 7
        IF p_place = 4 AND v_to NOT REGEXP '^[0-9]' AND v_last = 0 AND v_first > 0 THEN
            SET v_last = 7;
        END IF;
    END IF;
    IF v_stepped AND p_wrong IS NULL THEN
        SET v_to = TRIM(LEADING '0' FROM SUBSTRING_INDEX(p_item, '/', -1));
        SET v_step = IF(LENGTH(v_to) > 4, 9999, CONCAT('0', v_to));
    END IF;
    SET p_wrong = CASE
        WHEN p_wrong IS NOT NULL THEN p_wrong
        WHEN NOT COALESCE(v_first BETWEEN v_low AND v_high AND v_last BETWEEN v_low AND v_high, 0)
            THEN CONCAT('"', p_item, '" is invalid: allowed are ', v_allowed)
        WHEN v_first > v_last
            THEN CONCAT('the range ', p_item, ' runs backwards: write it as two, with a comma')
        WHEN v_stepped AND NOT v_hashed AND v_range <> '*' AND LOCATE('-', v_range) = 0
            THEN CONCAT('a step needs a range: write ', v_range, '-', v_high, '/',
                        SUBSTRING_INDEX(p_item, '/', -1))
        WHEN v_step NOT BETWEEN 1 AND v_span
            THEN CONCAT('the step after the / is out of range: allowed are 1 to ', v_span)
        WHEN v_hashed AND p_job IS NULL
            THEN 'H is derived from the name of a job, and here is none'
        WHEN v_hashed AND v_step > v_last - v_first + 1
            THEN CONCAT('the step of H is ', v_step, ', but its range has ',
                        v_last - v_first + 1, ' numbers') END;
    IF p_wrong IS NULL THEN
        IF v_hashed THEN
            CALL rowlock_cron_hash(p_place, p_job, IF(v_stepped, v_step, v_last - v_first + 1),
                                   v_span);
            SET v_first = v_first + v_span;
            SET v_last = IF(v_stepped, v_last, v_first);
            SET p_item = IF(v_first = v_last, v_first, CONCAT(v_first, '-', v_last, '/', v_step));
        END IF;
        SET p_normal = CONCAT(p_normal, IF(p_normal = '', '', ','), LOWER(p_item));
        IF v_step = 1 THEN
            SET v_numbers = ((1 << (v_last - v_first + 1)) - 1) << v_first;
        ELSE
            WHILE v_first <= v_last DO
                SET v_numbers = v_numbers | (1 << v_first), v_first = v_first + v_step;
            END WHILE;
        END IF;
        SET p_numbers = p_numbers
                        | IF(p_place = 4, (v_numbers | (v_numbers >> 7)) & 127, v_numbers);
    END IF;
END//

-- Reads one field of a cron line: its normal form, and its numbers as bits. p_job: the name of the
-- job, for H.
CREATE OR REPLACE PROCEDURE rowlock_cron_field(
    IN p_field VARCHAR(400) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, IN p_place INT,
    IN p_job VARBINARY(255),
    OUT p_normal VARCHAR(2000) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_numbers BIGINT UNSIGNED)
    SQL SECURITY INVOKER NO SQL
BEGIN
    DECLARE v_item VARCHAR(400) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_wrong VARCHAR(400) CHARACTER SET utf8mb4;
    DECLARE v_text VARCHAR(512) CHARACTER SET utf8mb4;

    SET p_normal = '', p_numbers = 0, p_field = CONCAT(p_field, ',');
    WHILE p_field <> '' AND v_wrong IS NULL DO
        SET v_item = SUBSTRING_INDEX(p_field, ',', 1);
        SET p_field = SUBSTRING(p_field, CHAR_LENGTH(v_item) + 2);
        CALL rowlock_cron_item(v_item, p_place, p_job, p_normal, p_numbers, v_wrong);
    END WHILE;
    IF v_wrong IS NOT NULL THEN
        SET v_text = LEFT(CONCAT('rowlock: ',
            ELT(p_place + 1, 'minute', 'hour', 'day of month', 'month', 'day of week'), ': ',
            IF(v_item = '', 'a value is missing', v_wrong)), 500);
        SIGNAL SQLSTATE 'RL003' SET MYSQL_ERRNO = 30003, MESSAGE_TEXT = v_text;
    END IF;
END//

-- The first minute of wall time at or after p_minute (p_step 1), or the last at or before it (-1),
-- that matches; in minutes since 1970. The fields are sets of bits; p_any_day: day of month or day
-- of week begins with '*'. NULL: none within 400 years, or within the years 1 to 9999.
CREATE OR REPLACE PROCEDURE rowlock_cron_seek(
    IN p_minutes BIGINT UNSIGNED, IN p_hours BIGINT UNSIGNED, IN p_days BIGINT UNSIGNED,
    IN p_months BIGINT UNSIGNED, IN p_weekdays BIGINT UNSIGNED, IN p_any_day TINYINT,
    IN p_minute BIGINT, IN p_step INT, OUT p_found BIGINT)
    SQL SECURITY INVOKER NO SQL
whole: BEGIN
    DECLARE v_in_day INT DEFAULT MOD(MOD(p_minute, 1440) + 1440, 1440);
    DECLARE v_day BIGINT DEFAULT (p_minute - v_in_day) DIV 1440;
    DECLARE v_hour INT DEFAULT v_in_day DIV 60;
    DECLARE v_minute INT DEFAULT v_in_day % 60;
    DECLARE v_date DATE;                        -- the first day of a month
    DECLARE v_number, v_weekday, v_months INT DEFAULT 0;
    DECLARE v_set, v_others BIGINT UNSIGNED DEFAULT 0;

    SET p_found = NULL;
    IF v_day NOT BETWEEN -719162 AND 2932896 THEN
        LEAVE whole;
    END IF;
    -- the time, if it is in that day
    IF p_hours >> v_hour & 1 THEN
        SET v_set = IF(p_step > 0, p_minutes >> v_minute << v_minute,
                       p_minutes & ((2 << v_minute) - 1));
    END IF;
    IF v_set = 0 THEN
        SET v_set = p_minutes,
            v_others = IF(p_step > 0, p_hours >> (v_hour + 1) << (v_hour + 1),
                          p_hours & ((1 << v_hour) - 1));
        SET v_day = v_day + IF(v_others = 0, p_step, 0);
        SET v_others = IF(v_others = 0, p_hours, v_others);
        SET v_hour = IF(p_step > 0, {lowest v_others}, {highest v_others});
    END IF;
    SET v_minute = IF(p_step > 0, {lowest v_set}, {highest v_set});
    -- the day
    IF v_day NOT BETWEEN -719162 AND 2932896 THEN
        LEAVE whole;
    END IF;
    SET v_date = FROM_DAYS(v_day + 719528);
    SET v_number = DAYOFMONTH(v_date);
    SET v_date = v_date - INTERVAL (v_number - 1) DAY;
    SET v_set = 0;
    months: LOOP
        IF p_months >> MONTH(v_date) & 1 THEN
            -- bit 1: the first of the month
            SET v_weekday = DAYOFWEEK(v_date) - 1;
            SET v_set = (p_weekdays >> v_weekday | p_weekdays << (7 - v_weekday)) & 127;
            SET v_set = (v_set | v_set << 7 | v_set << 14 | v_set << 21 | v_set << 28) << 1;
            SET v_set = IF(p_any_day, p_days & v_set, p_days | v_set)
                        & ((2 << DAYOFMONTH(LAST_DAY(v_date))) - 2);
            SET v_set = IF(p_step > 0, v_set >> v_number << v_number,
                           v_set & ((2 << v_number) - 1));
            IF v_set <> 0 THEN
                LEAVE months;
            END IF;
        END IF;
        -- after 400 years dates and weekdays repeat
        SET v_months = v_months + 1;
        IF v_months > 4800 OR v_date = IF(p_step > 0, '9999-12-01', '0001-01-01') THEN
            LEAVE whole;
        END IF;
        SET v_date = v_date + INTERVAL p_step MONTH, v_number = IF(p_step > 0, 1, 31);
    END LOOP;
    SET v_number = IF(p_step > 0, {lowest v_set}, {highest v_set});
    SET v_in_day = TO_DAYS(v_date) - 719528 + v_number - 1;
    IF v_in_day <> v_day THEN
        SET v_hour = IF(p_step > 0, {lowest p_hours}, {highest p_hours}),
            v_minute = IF(p_step > 0, {lowest p_minutes}, {highest p_minutes});
    END IF;
    SET p_found = v_in_day * 1440 + v_hour * 60 + v_minute;
END//

-- The seconds by which the zone is east of UTC at that second; NULL: the server does not know the
-- zone. The server's tables have no change before 2 January 1970 or after 2037: from 2038 on, it is
-- that of the last year before in which the same day is the same day of the week.
CREATE OR REPLACE PROCEDURE rowlock_zone_offset(
    IN p_zone VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, IN p_at BIGINT,
    OUT p_offset BIGINT)
    SQL SECURITY INVOKER NO SQL
BEGIN
    DECLARE v_at, v_like DATETIME;

    IF p_zone = 'UTC' THEN
        SET p_offset = 0;
    ELSEIF p_zone LIKE '+%' OR p_zone LIKE '-%' THEN
        SET p_offset = (SUBSTRING(p_zone, 2, 2) * 3600 + SUBSTRING(p_zone, 5, 2) * 60)
                       * IF(p_zone LIKE '-%', -1, 1);
    ELSE
        SET v_at = {second GREATEST(p_at, 86400)};
        IF p_at >= 2145916800 THEN
            SET v_at = v_at - INTERVAL (MONTH(v_at) = 2 AND DAYOFMONTH(v_at) = 29) DAY;
            SET v_like = v_at - INTERVAL (YEAR(v_at) - 2037) YEAR;
            WHILE DAYOFWEEK(v_like) <> DAYOFWEEK(v_at) DO
                SET v_like = v_like - INTERVAL 1 YEAR;
            END WHILE;
            SET v_at = v_like;
        END IF;
        SET p_offset = TIMESTAMPDIFF(SECOND, v_at, CONVERT_TZ(v_at, '+00:00', p_zone));
    END IF;
END//

-- The second at which the zone's offset changes: the first in (p_at, p_until] (p_step 1), or the
-- last in (p_until, p_at] (-1). NULL: it does not change. Two changes within a day that cancel each
-- other are not seen.
CREATE OR REPLACE PROCEDURE rowlock_zone_change(
    IN p_zone VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, IN p_at BIGINT,
    IN p_until BIGINT, IN p_step INT, OUT p_change BIGINT)
    SQL SECURITY INVOKER NO SQL
whole: BEGIN
    DECLARE v_here, v_there, v_middle BIGINT;
    DECLARE v_near, v_far BIGINT DEFAULT p_at;

    SET p_change = NULL;
    IF p_zone = 'UTC' OR p_zone LIKE '+%' OR p_zone LIKE '-%' THEN
        LEAVE whole;
    END IF;
    CALL rowlock_zone_offset(p_zone, p_at, v_here);
    SET v_there = v_here;
    WHILE v_there = v_here DO
        IF v_far = p_until THEN
            LEAVE whole;
        END IF;
        SET v_near = v_far;
        SET v_far = IF(p_step > 0, LEAST(p_until, v_far + 86400),
                       GREATEST(p_until, v_far - 86400));
        CALL rowlock_zone_offset(p_zone, v_far, v_there);
    END WHILE;
    WHILE ABS(v_far - v_near) > 1 DO
        SET v_middle = (v_near + v_far) DIV 2;
        CALL rowlock_zone_offset(p_zone, v_middle, v_there);
        IF v_there = v_here THEN
            SET v_near = v_middle;
        ELSE
            SET v_far = v_middle;
        END IF;
    END WHILE;
    SET p_change = GREATEST(v_near, v_far);
END//

-- The milliseconds of a period such as "1h30m", the larger unit first, or "90" (seconds); each part
-- is rounded up. NULL: it is none.
CREATE OR REPLACE PROCEDURE rowlock_period_of(
    IN p_text VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, OUT p_period BIGINT)
    SQL SECURITY INVOKER NO SQL
whole: BEGIN
    DECLARE v_rest, v_number, v_unit VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT p_text;
    DECLARE v_ms DECIMAL(65, 20) DEFAULT 0;
    DECLARE v_place, v_last INT DEFAULT 0;

    SET p_period = NULL;
    WHILE v_rest <> '' DO
        IF v_rest NOT REGEXP '^[0-9]+([.][0-9]+)?(w|d|h|ms|m|s)' THEN
            IF v_last > 0 OR v_rest NOT REGEXP '^[0-9]+([.][0-9]+)?\\z' THEN
                LEAVE whole;
            END IF;
            SET v_rest = CONCAT(v_rest, 's'); -- only a single number may lack its unit
        END IF;
        SET v_number = REGEXP_SUBSTR(v_rest, '^[0-9.]+');
        SET v_unit = REGEXP_SUBSTR(v_rest, '(w|d|h|ms|m|s)');
        SET v_rest = SUBSTRING(v_rest, CHAR_LENGTH(v_number) + CHAR_LENGTH(v_unit) + 1),
            v_place = FIELD(v_unit, 'w', 'd', 'h', 'm', 's', 'ms');
        IF v_place <= v_last OR LOCATE('.', CONCAT(v_number, '.')) > 20 THEN
            LEAVE whole;
        END IF;
        SET v_last = v_place,
            v_ms = v_ms + CEILING(CAST(v_number AS DECIMAL(65, 20))
                                  * ELT(v_place, 604800000, 86400000, 3600000, 60000, 1000, 1));
    END WHILE;
    IF v_ms BETWEEN 1 AND 9223372036854775807 THEN
        SET p_period = v_ms;
    END IF;
END//

-- Refuses a time zone that this server does not know. The server finds a name in any capitals, and
-- only an account that may read mysql.time_zone_name can compare them.
CREATE OR REPLACE PROCEDURE rowlock_check_zone(
    IN p_zone VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE v_known VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT p_zone;
    DECLARE v_wrong VARCHAR(200) CHARACTER SET utf8mb4;
    DECLARE v_error VARCHAR(512) CHARACTER SET utf8mb4;
    DECLARE v_offset BIGINT;
    DECLARE CONTINUE HANDLER FOR NOT FOUND, 1044, 1142 BEGIN END;

    IF p_zone NOT REGEXP CONCAT('^([+-](([01][0-9]|2[0-5]):[0-5][0-9]|26:00)|',
                                '[A-Z][A-Za-z0-9_+-]*(/[A-Z][A-Za-z0-9_+-]*)*)\\z')
       OR CHAR_LENGTH(p_zone) > 63 THEN
        SET v_wrong = 'is not a name of one: write it as in UTC, +02:00 or Europe/Berlin; an '
                      'offset is 26:00 at most';
    ELSEIF p_zone <> 'SYSTEM' THEN
        CALL rowlock_zone_offset(p_zone, 0, v_offset);
        IF v_offset IS NULL THEN
            CALL rowlock_zone_offset('Europe/London', 0, v_offset);
            SET v_wrong = CONCAT('is unknown', IF(v_offset IS NOT NULL, ' to this server',
                ': load the zones: mariadb-tzinfo-to-sql /usr/share/zoneinfo | mariadb mysql'));
        ELSEIF p_zone <> 'UTC' AND p_zone NOT REGEXP '^[+-]' THEN
            SELECT name INTO v_known FROM mysql.time_zone_name
             WHERE name = CONVERT(p_zone USING utf8mb3);
            IF v_known <> p_zone THEN
                SET v_wrong = CONCAT('is unknown: capitals matter, as in ', v_known);
            END IF;
        END IF;
    END IF;
    IF v_wrong IS NOT NULL THEN
        SET v_error = LEFT(CONCAT('rowlock: time zone ', LEFT(p_zone, 63), ' ', v_wrong), 500);
        SIGNAL SQLSTATE 'RL003' SET MYSQL_ERRNO = 30003, MESSAGE_TEXT = v_error;
    END IF;
END//

-- Takes the normal form of a schedule apart. p_period NULL: a cron line. p_shown: it follows real
-- time, because minute or hour begins with '*'. p_zone NULL: the server does not know it.
CREATE OR REPLACE PROCEDURE rowlock_take_schedule(
    IN p_schedule VARCHAR(400) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    {parts_of_schedule OUT})
    SQL SECURITY INVOKER NO SQL
whole: BEGIN
    DECLARE v_normal VARCHAR(2000) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_minute, v_hour, v_day, v_month, v_weekday
        VARCHAR(400) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_offset BIGINT;

    IF p_schedule LIKE 'every %' THEN
        CALL rowlock_period_of(SUBSTRING(p_schedule, 7), p_period);
        LEAVE whole;
    END IF;
    SET v_minute = {cron_word 2}, v_hour = {cron_word 3}, v_day = {cron_word 4},
        v_month = {cron_word 5}, v_weekday = {cron_word 6}, p_zone = {cron_word 7};
    SET p_any_day = v_day LIKE '*%' OR v_weekday LIKE '*%',
        p_shown = v_minute LIKE '*%' OR v_hour LIKE '*%';
    CALL rowlock_cron_field(v_minute, 0, NULL, v_normal, p_minutes);
    CALL rowlock_cron_field(v_hour, 1, NULL, v_normal, p_hours);
    CALL rowlock_cron_field(v_day, 2, NULL, v_normal, p_days);
    CALL rowlock_cron_field(v_month, 3, NULL, v_normal, p_months);
    CALL rowlock_cron_field(v_weekday, 4, NULL, v_normal, p_weekdays);
    CALL rowlock_zone_offset(p_zone, 0, v_offset);
    SET p_zone = IF(v_offset IS NULL, NULL, p_zone);
END//

-- The normal form of a schedule: "every 5m", or a cron line, five fields or "@daily" and the like,
-- in the time zone p_zone. p_job: the name of the job, for H.
CREATE OR REPLACE PROCEDURE rowlock_read_schedule(
    IN p_text LONGTEXT CHARACTER SET utf8mb4, IN p_zone VARCHAR(255) CHARACTER SET utf8mb4,
    IN p_job VARBINARY(255), OUT p_normal VARCHAR(400) CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER READS SQL DATA
whole: BEGIN
    DECLARE v_line, v_word VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_normal, v_field VARCHAR(2000) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT 'cron';
    DECLARE v_error VARCHAR(512) CHARACTER SET utf8mb4;
    DECLARE v_words, v_place INT DEFAULT 0;
    DECLARE v_size, v_numbers, v_found BIGINT;
    {schedule_line};

    IF LENGTH(p_text) > 255 THEN
        SIGNAL SQLSTATE 'RL003' SET MYSQL_ERRNO = 30003, MESSAGE_TEXT =
            'rowlock: the schedule is too long: 255 bytes are allowed';
    END IF;
    SET v_line = TRIM(REGEXP_REPLACE(COALESCE(p_text, ''), '[ \t]+', ' '));
    SET v_words = CHAR_LENGTH(v_line) - CHAR_LENGTH(REPLACE(v_line, ' ', '')) + 1,
        v_word = SUBSTRING_INDEX(v_line, ' ', 1);
    IF v_word = 'every' THEN
        IF v_words = 2 THEN
            CALL rowlock_period_of(SUBSTRING_INDEX(v_line, ' ', -1), v_period);
        END IF;
        IF v_period IS NULL THEN
            SET v_error = LEFT(CONCAT('rowlock: "', v_line, '" is not a period: write it as in '
                                      'every 90s, every 5m, every 1h30m, every 1d'), 500);
            SIGNAL SQLSTATE 'RL003' SET MYSQL_ERRNO = 30003, MESSAGE_TEXT = v_error;
        END IF;
        SET p_normal = 'every ';
        WHILE v_place < 6 DO
            SET v_place = v_place + 1;
            SET v_size = ELT(v_place, 604800000, 86400000, 3600000, 60000, 1000, 1);
            IF v_period >= v_size THEN
                SET p_normal = CONCAT(p_normal, v_period DIV v_size,
                                      ELT(v_place, 'w', 'd', 'h', 'm', 's', 'ms')),
                    v_period = v_period MOD v_size;
            END IF;
        END WHILE;
        LEAVE whole;
    END IF;
    SET v_line = CASE LOWER(v_line) WHEN '@yearly' THEN '0 0 1 1 *'
                                    WHEN '@annually' THEN '0 0 1 1 *'
                                    WHEN '@monthly' THEN '0 0 1 * *'
                                    WHEN '@weekly' THEN '0 0 * * 0'
                                    WHEN '@daily' THEN '0 0 * * *'
                                    WHEN '@midnight' THEN '0 0 * * *'
                                    WHEN '@hourly' THEN '0 * * * *' ELSE v_line END;
    IF CHAR_LENGTH(v_line) - CHAR_LENGTH(REPLACE(v_line, ' ', '')) <> 4 THEN
        SET v_error = LEFT(CONCAT('rowlock: "', v_line, '" is not a schedule: allowed are the five '
            'fields minute, hour, day of month, month, day of week; @yearly, @annually, @monthly, '
            '@weekly, @daily, @midnight, @hourly; and periods as in every 5m'), 500);
        SIGNAL SQLSTATE 'RL003' SET MYSQL_ERRNO = 30003, MESSAGE_TEXT = v_error;
    END IF;
    WHILE v_place < 5 DO
        CALL rowlock_cron_field(SUBSTRING_INDEX(SUBSTRING_INDEX(v_line, ' ', v_place + 1), ' ', -1),
                                v_place, p_job, v_field, v_numbers);
        SET v_normal = CONCAT(v_normal, ' ', v_field), v_place = v_place + 1;
    END WHILE;
    IF LENGTH(v_normal) > 260 THEN
        SIGNAL SQLSTATE 'RL003' SET MYSQL_ERRNO = 30003, MESSAGE_TEXT =
            'rowlock: the schedule is too long: 255 bytes are allowed';
    END IF;
    CALL rowlock_check_zone(COALESCE(p_zone, 'UTC'));
    SET p_normal = CONCAT(v_normal, ' ', COALESCE(p_zone, 'UTC'));
    CALL rowlock_take_schedule(p_normal, {schedule_taken});
    CALL rowlock_cron_seek(v_minutes, v_hours, v_days, v_months, v_weekdays, v_any_day, 0, 1,
                           v_found);
    IF v_found IS NULL THEN
        SIGNAL SQLSTATE 'RL003' SET MYSQL_ERRNO = 30003, MESSAGE_TEXT =
            'rowlock: day of month: never comes in the months of this schedule';
    END IF;
END//

-- The due time after p_at (p_step 1), or the last one up to it (-1), of a schedule in parts, in
-- milliseconds; 9223372036854775807: none.
CREATE OR REPLACE PROCEDURE rowlock_due_of(
    {parts_of_schedule IN},
    IN p_at BIGINT, IN p_step INT, OUT p_due BIGINT)
    SQL SECURITY INVOKER NO SQL
whole: BEGIN
    DECLARE v_never BIGINT DEFAULT 9223372036854775807;
    DECLARE v_last BIGINT DEFAULT 253402300800; -- the year 10000
    DECLARE v_most_offset BIGINT DEFAULT 93600;
    DECLARE v_later TINYINT DEFAULT p_step > 0;
    DECLARE v_now, v_offset, v_latest, v_change, v_minute, v_wall, v_due BIGINT;

    IF p_period IS NOT NULL THEN
        SET v_due = (p_at - MOD(MOD(p_at, p_period) + p_period, p_period)) DIV p_period + v_later;
        SET p_due = IF(v_due > v_never DIV p_period, v_never, v_due * p_period);
        LEAVE whole;
    END IF;
    SET v_now = (p_at - MOD(MOD(p_at, 1000) + 1000, 1000)) DIV 1000;
    IF v_later AND v_now >= v_last THEN
        SET p_due = v_never;
        LEAVE whole;
    END IF;
    SET v_now = LEAST(v_now, v_last - 1);
    IF p_shown THEN
        SET v_now = v_now + v_later;
        shown: LOOP
            CALL rowlock_zone_offset(p_zone, v_now, v_offset);
            SET v_wall = v_now + v_offset + IF(v_later, 59, 0);
            CALL rowlock_cron_seek(p_minutes, p_hours, p_days, p_months, p_weekdays, p_any_day,
                                   {minute_of v_wall}, p_step, v_minute);
            SET v_due = v_minute * 60 - v_offset;
            IF v_due IS NULL THEN
                LEAVE shown;
            END IF;
            CALL rowlock_zone_change(p_zone, v_now, v_due, p_step, v_change);
            IF v_change IS NULL THEN
                LEAVE shown;
            END IF;
            SET v_now = v_change - (v_later = 0);
        END LOOP;
    ELSE -- a wall time is due when the clocks first show it, or a later one
        CALL rowlock_zone_offset(p_zone, v_now, v_offset);
        SET v_latest = v_now + v_offset, v_change = v_now;
        latest: LOOP -- the latest wall time that the clocks have shown
            CALL rowlock_zone_change(p_zone, v_change, v_now - 2 * v_most_offset, -1, v_due);
            IF v_due IS NULL THEN
                LEAVE latest;
            END IF;
            SET v_change = v_due - 1;
            CALL rowlock_zone_offset(p_zone, v_change, v_offset);
            SET v_latest = GREATEST(v_latest, v_change + v_offset);
        END LOOP;
        CALL rowlock_cron_seek(p_minutes, p_hours, p_days, p_months, p_weekdays, p_any_day,
                               {minute_of v_latest} + v_later, p_step, v_minute);
        SET v_wall = v_minute * 60;
        SET v_now = v_wall - v_most_offset;
        named: LOOP
            IF v_wall IS NULL THEN
                SET v_due = NULL;
                LEAVE named;
            END IF;
            CALL rowlock_zone_change(p_zone, v_now, v_wall + v_most_offset, 1, v_change);
            CALL rowlock_zone_offset(p_zone, v_now, v_offset);
            SET v_due = GREATEST(v_now, v_wall - v_offset);
            IF v_change IS NULL OR v_due < v_change THEN
                LEAVE named;
            END IF;
            SET v_now = v_change;
        END LOOP;
    END IF;
    SET p_due = IF(v_due < v_last, v_due * 1000, v_never);
END//

-- The same of the normal form of a schedule. NULL: the server does not know its time zone.
CREATE OR REPLACE PROCEDURE rowlock_due(
    IN p_schedule VARCHAR(400) CHARACTER SET utf8mb4, IN p_at BIGINT, IN p_step INT,
    OUT p_due BIGINT)
    SQL SECURITY INVOKER NO SQL
BEGIN
    {schedule_line};

    CALL rowlock_take_schedule(p_schedule, {schedule_taken});
    SET p_due = NULL;
    IF v_period IS NOT NULL OR v_zone IS NOT NULL THEN
        CALL rowlock_due_of({schedule_taken}, p_at, p_step, p_due);
    END IF;
END//

{end_of_piece};
