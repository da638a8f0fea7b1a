package import Rates

/// How many connections one address may open and hold: rapid connecting and disconnecting counts as an attack (Guide,
/// 2.3.3.1).
package struct ConnectLimits: Sendable, Hashable {
    /// How often an address may connect.
    package var connects: Rate
    /// How many connections of an address may be open at a time; 0 for any number.
    package var open: Int

    package init(connects: Rate, open: Int) {
        self.connects = connects
        self.open = open
    }

    /// No limits.
    package static let off = ConnectLimits(connects: .off, open: 0)
}
