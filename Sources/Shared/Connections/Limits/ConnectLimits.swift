package import Rates

/// The limits on connections of one address. APNs treats rapid connecting and disconnecting as an attack (Guide,
/// 2.3.3.1).
package struct ConnectLimits: Sendable, Hashable {
    /// The rate at which an address may connect.
    package var connects: Rate
    /// The largest number of open connections of an address; 0 means no limit.
    package var open: Int

    package init(connects: Rate, open: Int) {
        self.connects = connects
        self.open = open
    }

    /// The settings of the rate.
    /// - Parameter name: as in ``Limit``, without `-rate`.
    package static func settings(_ name: String, to ports: String) -> [LimitSetting<ConnectLimits>] {
        [
            LimitSetting(
                Limit(name + "-rate"), "connects a second of one address to \(ports)", .rates, \.connects.perSecond,
                .perSecond, forTests: 0),
            LimitSetting(
                Limit(name + "-burst"), "connects at once of one address to \(ports)", .bursts, \.connects.burst, .count
            ),
        ]
    }

    /// No limits.
    package static let off = ConnectLimits(connects: .unlimited, open: 0)
}
