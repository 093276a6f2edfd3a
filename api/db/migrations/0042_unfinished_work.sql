-- A rejection that no code handled is a reason of its own, and a call that was sent and given up is not canceled but unknown. Rows that
-- are there already have neither, so they need not be looked at.
alter table tool_calls
  drop constraint tool_calls_status_check,
  add constraint tool_calls_status_check check (status in ('ok', 'error', 'denied', 'canceled', 'unknown')) not valid;
alter table processes
  drop constraint processes_state,
  add constraint processes_state check (
    case state
      when 'idle' then true
      when 'queued' then exit_state is null and queued_at is not null
      else state in ('running', 'paused', 'terminating')
        and exit_state is null and claim is not null and started_at is not null
    end
    and (exit_state is null) = (reason is null)
    and (exit_state is null) = (completed_at is null)
    and case exit_state
      when 'success' then reason = 'ok'
      when 'timeout' then reason = 'timeout'
      when 'canceled' then reason in ('killed', 'queue_timeout')
      when 'failed' then reason in (
        'script_error', 'unhandled_rejection', 'syntax_error', 'memory_limit', 'cpu_limit', 'output_limit', 'crashed',
        'sandbox_violation', 'approval_denied', 'approval_expired', 'replay_divergence', 'interrupted', 'interrupted_call'
      )
      else exit_state is null
    end
    and (creator = 'key') = (key_id is not null)
  ) not valid;
