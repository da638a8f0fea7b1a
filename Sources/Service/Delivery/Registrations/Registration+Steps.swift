package import Notifications

// The changes of a registration, as the port describes them.

extension Registration {
    /// Creates the first registration of an app on a device.
    package init(firstSealedWith tokenKeyID: UInt32, at moment: Timestamp) {
        self.init(generation: 1, tokenKeyID: tokenKeyID, tokenSince: moment, isActive: true, changed: moment)
    }

    /// Marks the app as present or removed.
    /// - Returns: Whether this changed anything.
    package mutating func setActive(_ active: Bool, at moment: Timestamp) -> Bool {
        guard isActive != active else { return false }
        isActive = active
        changed = moment
        return true
    }

    /// Begins the next generation, which is inactive.
    /// - Returns: false after the last generation, which stays for ever because the first one must not be used
    ///   again.
    package mutating func renewToken(tokenKeyID: UInt32, at moment: Timestamp) -> Bool {
        guard generation < TokenNumber.lastGeneration else { return false }
        generation += 1
        self.tokenKeyID = tokenKeyID
        tokenSince = moment
        _ = setActive(false, at: moment)
        return true
    }
}
