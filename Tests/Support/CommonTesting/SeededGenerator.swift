/// Random numbers that can be repeated: SplitMix64 (Steele, Lea, Flood, 2014).
package struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    package init(seed: UInt64 = 1) { state = seed }

    /// A generator with another seed each time, for names that no two tests may share. `SystemRandomNumberGenerator` would do,
    /// but it has no size, and in debug builds the compiler passes it at an address that is nowhere, which the Thread Sanitizer
    /// then reads (`script/tsan`).
    package static func random() -> SeededGenerator { SeededGenerator(seed: .random(in: 0 ... .max)) }

    package mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
