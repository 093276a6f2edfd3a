-- Reads every process under a lock that lets others read and write.
alter table processes validate constraint processes_state;
