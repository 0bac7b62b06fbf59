/** The range of time in the address of a screen. */

import { go, withParameters } from "../browser/address.ts";
import { isSameRange, type RangeText } from "./range.ts";
import { RangePicker } from "./range-picker.tsx";

interface AddressRangePickerProps {
  range: RangeText;
  /** Called where the present range is chosen again: the end of a relative one is now. */
  onAgain(): void;
}

export function AddressRangePicker({ range, onAgain }: AddressRangePickerProps) {
  return (
    <RangePicker
      range={range}
      onChange={(next) => {
        if (isSameRange(next, range)) onAgain();
        else goToRange(next);
      }}
    />
  );
}

/** Puts a range into the address. */
export function goToRange({ from, to }: RangeText): void {
  go(withParameters({ from, to: to === "now" ? null : to }));
}
