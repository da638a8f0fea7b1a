import Notifications

// Broadcasts are not sent by the device's line, but they respect the device's power in the same way: those of priority 5
// are grouped, and those of priority 1 never wake the device.
extension DeviceLine {
    /// Returns whether a broadcast may be sent to the device now. If not, ``Action/releaseBroadcasts`` follows with the next
    /// burst, or when the device is awake for another reason.
    mutating func admitsBroadcast(_ notification: Notification, now: Moment) -> Bool {
        defer { assert(checkInvariants()) }
        // A device that has just opened its stream is awake.
        if case .reading(let reading) = phase, reading.isFirst { return true }
        guard let wait = policy.wait(for: notification, isBurst: false) else { return true }
        policy.began(wait, now: now)
        holdsBroadcasts = true
        return false
    }
}
