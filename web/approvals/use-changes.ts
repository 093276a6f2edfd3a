/** Reads anew when an approval is asked for or decided, without dropping what is shown or typed meanwhile. */
import { useEffect, useRef } from "preact/hooks";
import { approvalChanges } from "../server/waiting-approvals.ts";

export function useApprovalChanges(reload: () => void): void {
  const { value } = approvalChanges;
  const seen = useRef(value);
  useEffect(() => {
    if (seen.current === value) return;
    seen.current = value;
    reload();
  }, [value, reload]);
}
