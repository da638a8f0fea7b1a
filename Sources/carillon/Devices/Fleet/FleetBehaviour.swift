import Foundation

/// How the devices of a fleet behave. All random choices come from the seed, so the same seed gives the same behaviour.
struct FleetBehaviour: Sendable {
    let offlineShare: Double
    let reconnectsPerMinute: Double
    let acknowledgementDelay: Duration
    private var random: SplitMix64

    init(offlineShare: Double, reconnectsPerMinute: Double, acknowledgementDelay: Duration, seed: UInt64) {
        self.offlineShare = offlineShare
        self.reconnectsPerMinute = reconnectsPerMinute
        self.acknowledgementDelay = acknowledgementDelay
        random = SplitMix64(seed: seed)
    }

    /// The devices that are offline at the start.
    mutating func offline(of count: Int) -> Set<Int> {
        let number = Int((Double(count) * offlineShare).rounded())  // fits: a share from 0 to 1
        return Set((0..<count).shuffled(using: &random).prefix(number))
    }

    /// The time until the next device loses its connection; nil if none does. The times are distributed like those of
    /// independent events.
    mutating func pause() -> Duration? {
        guard reconnectsPerMinute > 0 else { return nil }
        let share = Double.random(in: 0..<1, using: &random)
        return .seconds(-log1p(-share) * 60 / reconnectsPerMinute)
    }

    /// One of the devices, chosen at random.
    mutating func choose(of count: Int) -> Int? {
        count > 0 ? Int.random(in: 0..<count, using: &random) : nil
    }
}

/// A small generator whose whole state is one number (Steele, Lea, Flood, 2014).
struct SplitMix64: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var value = state
        value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
        return value ^ (value >> 31)
    }
}
