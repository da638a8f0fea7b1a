/// How long certificates live, in seconds.
package enum CertificateLives {
    private static let day: Double = 86_400

    /// A certificate is valid from this long before it was made, so that a peer whose clock is behind accepts it.
    package static let clockTolerance: Double = 3600

    /// The root cannot be replaced on devices in the field without touching each, so it outlives the hardware.
    package static let root = 20 * 365 * day
    /// Half of the root's life. Nothing renews them: their end is the authority's, and known ten years before.
    package static let intermediate = 10 * 365 * day
    /// The longest that common client libraries accept from a public authority (398 days), less one.
    package static let server = 397 * day
    /// A device is activated again within the year; one that is lost does not stay trusted for longer.
    package static let device = 365 * day
    /// Short, because it is not revoked one by one: who administers from afar gets another each month.
    package static let administrator = 30 * day
    /// As in the developer account: a year, and a month in which the old and the new one overlap.
    package static let provider = 396 * day
}
