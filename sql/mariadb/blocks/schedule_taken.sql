-- The variables of schedule_line.
v_period, v_minutes, v_hours, v_days, v_months, v_weekdays, v_any_day, v_shown, v_zone
