/// The urgency of a notification (Guide, Table 8-2; 1 came later).
public enum PushPriority: UInt8, Sendable, Hashable, CaseIterable {
    /// Is sent immediately. The notification must trigger an alert, a sound or a badge.
    case immediate = 10
    /// Is sent with regard to the device's power: may be grouped, sent in bursts or throttled.
    case considerate = 5
    /// Never wakes the device.
    case low = 1
}

/// The short name is for this package alone. The libraries export their types to programs that have a `Priority` too.
package typealias Priority = PushPriority
