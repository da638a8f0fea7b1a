/// A random number generator for identifiers, which have to be unique but not secret: xoshiro256** by Blackman and
/// Vigna, seeded by the system.
///
/// The system's generator needs a system call for every eight bytes. That was a twentieth of the cost of a request.
package struct IdentifierGenerator: RandomNumberGenerator, Sendable {
    private var state: SIMD4<UInt64>

    /// - Parameter system: the generator that provides the seed of 256 bits.
    package init(seededBy system: inout some RandomNumberGenerator) {
        state = SIMD4(system.next(), system.next(), system.next(), system.next() | 1)
    }

    package mutating func next() -> UInt64 {
        let result = Self.rotated(state[1] &* 5, by: 7) &* 9
        let shifted = state[1] << 17
        state[2] ^= state[0]
        state[3] ^= state[1]
        state[1] ^= state[2]
        state[0] ^= state[3]
        state[2] ^= shifted
        state[3] = Self.rotated(state[3], by: 45)
        return result
    }

    private static func rotated(_ value: UInt64, by bits: UInt64) -> UInt64 {
        value << bits | value >> (64 - bits)
    }
}
