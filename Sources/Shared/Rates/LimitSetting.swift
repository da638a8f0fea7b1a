/// A setting that changes a limit. Each `…Limits` declares the settings of its limits beside their defaults and reasons, so the
/// tables of all settings, the readers and the checks of the documents follow from there.
package struct LimitSetting<Limits>: Sendable {
    package let limit: Limit
    /// The meaning of the number, and its unit. The documents have the same words.
    package let meaning: String
    package let range: ClosedRange<Double>
    /// The number in a service for tests; nil if it is the same there.
    package let forTests: Double?
    private let number: @Sendable (Limits) -> Double
    private let change: @Sendable (inout Limits, Double) -> Void

    /// - Parameters:
    ///   - path: what the setting changes.
    ///   - unit: the unit of the setting.
    ///   - forTests: 0 for a rate that protects the service from attackers: two hundred tests that run at the same time look
    ///     like an attack, and all of them come from one address.
    package init<Value>(
        _ limit: Limit,
        _ meaning: String,
        _ range: ClosedRange<Double>,
        _ path: any WritableKeyPath<Limits, Value> & Sendable,
        _ unit: LimitUnit<Value>,
        forTests: Double? = nil,
    ) {
        self.limit = limit
        self.meaning = meaning
        self.range = range
        self.forTests = forTests
        number = { unit.number($0[keyPath: path]) }
        change = { $0[keyPath: path] = unit.value($1) }
    }

    private init<Part>(_ setting: LimitSetting<Part>, _ path: any WritableKeyPath<Limits, Part> & Sendable) {
        limit = setting.limit
        meaning = setting.meaning
        range = setting.range
        forTests = setting.forTests
        number = { setting.number($0[keyPath: path]) }
        change = { setting.change(&$0[keyPath: path], $1) }
    }

    /// The same setting of something that has the limits as a part.
    package func of<Whole>(_ path: any WritableKeyPath<Whole, Limits> & Sendable) -> LimitSetting<Whole> {
        LimitSetting<Whole>(self, path)
    }

    package var name: String { limit.rawValue }

    /// The name of the environment variable: the prefix, and the name in capitals with underscores.
    package func variable(after prefix: String) -> String { prefix + name.uppercased().replacing("-", with: "_") }

    /// The present number, in the unit of the setting.
    package func number(in limits: Limits) -> Double { number(limits) }

    /// - Parameter number: a number of ``range``.
    package func set(_ number: Double, in limits: inout Limits) { change(&limits, number) }

    /// - Parameter text: the value of the setting.
    /// - Returns: false if it is not a number of ``range``. Then nothing changes.
    package func read(_ text: String, into limits: inout Limits) -> Bool {
        guard let number = Double(text), range.contains(number) else { return false }
        set(number, in: &limits)
        return true
    }

    /// What the setting takes, for errors.
    package var taken: String {
        "a number from \(Self.shown(range.lowerBound)) to \(Self.shown(range.upperBound)): \(meaning)"
    }

    private static func shown(_ number: Double) -> String {
        Int(exactly: number).map(String.init) ?? "\(number)"
    }
}

/// The ranges of most settings.
extension ClosedRange<Double> {
    /// 0 switches the limit off.
    package static var rates: Self { 0...1_000_000 }
    package static var bursts: Self { 1...10_000_000 }
    package static var seconds: Self { 1...1_000_000 }
}

/// How the number of a setting stands for the value of a limit.
package struct LimitUnit<Value>: Sendable {
    let value: @Sendable (Double) -> Value
    let number: @Sendable (Value) -> Double

    /// - Parameter value: is called with numbers of the ranges of settings, which end at a hundred million.
    package init(value: @escaping @Sendable (Double) -> Value, number: @escaping @Sendable (Value) -> Double) {
        self.value = value
        self.number = number
    }
}

// fits below: $0: a number of a setting's range, and these end at a hundred million
extension LimitUnit<Int> {
    package static var count: Self { Self(value: { Int($0) }, number: { Double($0) }) }
    package static var mebibytes: Self { Self(value: { Int($0) << 20 }, number: { Double($0 >> 20) }) }
}

extension LimitUnit<Double> {
    package static var number: Self { per(1) }
    package static var perSecond: Self { per(1) }
    package static var perMinute: Self { per(60) }
    package static var perHour: Self { per(3600) }

    private static func per(_ seconds: Double) -> Self { Self(value: { $0 / seconds }, number: { $0 * seconds }) }
}

extension LimitUnit<Duration> {
    package static var milliseconds: Self { of(1) }
    package static var seconds: Self { of(1000) }
    package static var hours: Self { of(3_600_000) }
    package static var days: Self { of(86_400_000) }

    private static func of(_ milliseconds: Double) -> Self {
        // fits: a number of a setting's range in milliseconds, which ends at ten years
        Self(value: { .milliseconds(Int64($0 * milliseconds)) }, number: { $0 / .milliseconds(1) / milliseconds })
    }
}
