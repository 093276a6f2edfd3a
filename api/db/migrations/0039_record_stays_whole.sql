-- Which use of an approval was the first: an attempt whose answer was lost is told from another use.
alter table approvals add column used_by uuid;
