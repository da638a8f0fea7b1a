package import Notifications

// The steps in the life of a registration, as the port describes them.

extension Registration {
    /// The first registration of an app on a device.
    package init(firstSealedWith tokenKeyID: UInt32, at moment: Timestamp) {
        self.init(generation: 1, tokenKeyID: tokenKeyID, tokenSince: moment, isActive: true, changed: moment)
    }

    /// - Returns: Whether that changed anything.
    package mutating func setActive(_ active: Bool, at moment: Timestamp) -> Bool {
        guard isActive != active else { return false }
        isActive = active
        changed = moment
        return true
    }

    /// Begins the next generation, inactive.
    /// - Returns: Whether there is one: the last generation stays for ever, since the first must not come again.
    package mutating func renewToken(tokenKeyID: UInt32, at moment: Timestamp) -> Bool {
        let (next, overflow) = generation.addingReportingOverflow(1)
        guard !overflow else { return false }
        generation = next
        self.tokenKeyID = tokenKeyID
        tokenSince = moment
        _ = setActive(false, at: moment)
        return true
    }
}
