/// How long certificates live, in seconds.
package enum CertificateLives {
    private static let day: Double = 86_400

    /// A certificate is valid from this long before it was made, so that a peer whose clock is behind accepts it.
    package static let clockTolerance: Double = 3600

    /// The root outlives the hardware, because it cannot be replaced on devices in the field without access to each of
    /// them.
    package static let root = 20 * 365 * day
    /// Half of the root's life. Intermediates are not renewed. The authority ends with them, and the date is known ten
    /// years before.
    package static let intermediate = 10 * 365 * day
    /// One day less than the longest validity that common client libraries accept from a public authority (398 days).
    package static let server = 397 * day
    /// A device has to renew its certificate within a year, so a lost device is not trusted for longer.
    package static let device = 365 * day
    /// Short, because an administrator may do nearly everything, and nobody may notice that a certificate was lost: a
    /// remote administrator gets a new one each month.
    package static let administrator = 30 * day
    /// A node makes a new one for each connection, so it only has to outlive the handshake and differences of clocks.
    package static let node = day
    /// As in Apple's developer account: a year, and a month in which the old and the new certificate overlap.
    package static let provider = 396 * day
}
