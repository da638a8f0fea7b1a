/// How urgent a notification is (Guide, Table 8-2; 1 came later).
package enum Priority: UInt8, Sendable, Hashable, CaseIterable {
    /// Sent immediately; must trigger an alert, sound or badge.
    case immediate = 10
    /// Sent when the device's power allows it: grouped, in bursts, throttled.
    case considerate = 5
    /// Never wakes the device.
    case low = 1
}
