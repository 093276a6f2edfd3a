-- Postgres reads every check of a table anew with each statement that writes to it: fifteen of them cost each run a fifth of
-- its time in the database. What must hold between the columns of a process stays, as one check; what one value may be is
-- checked where values come in, and by the statements, which name the states they come from. Rows that are there already are
-- looked at by the migration after, which keeps nobody waiting.
alter table processes
  drop constraint processes_ref_check,
  drop constraint processes_state_check,
  drop constraint processes_exit_state_check,
  drop constraint processes_timeout_ms_check,
  drop constraint processes_memory_mb_check,
  drop constraint processes_cpu_ms_check,
  drop constraint processes_results_bytes_check,
  drop constraint processes_trace_parent_check,
  drop constraint processes_creator_check,
  drop constraint processes_creator_key,
  drop constraint processes_exit_only_idle,
  drop constraint processes_exit_complete,
  drop constraint processes_running_claimed,
  drop constraint processes_queued_since,
  drop constraint processes_reason,
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
        'script_error', 'syntax_error', 'memory_limit', 'cpu_limit', 'output_limit', 'crashed', 'sandbox_violation',
        'approval_denied', 'approval_expired', 'replay_divergence', 'interrupted', 'interrupted_call'
      )
      else exit_state is null
    end
    and (creator = 'key') = (key_id is not null)
  ) not valid;
