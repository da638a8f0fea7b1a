import Testing

@testable import HTTP2

@Suite struct ConcurrencyLimitTests {
    @Test func `Before the first acknowledgement the full number is admitted`() {
        var limit = ConcurrencyLimit(full: 1_000)
        let isSubmitted = limit.announce(1)
        #expect(isSubmitted)
        let number = limit.settingsSent()
        #expect(number == 1)
        #expect(limit.current == 1_000)
    }

    @Test func `The acknowledged number is admitted`() {
        var limit = ConcurrencyLimit(full: 1_000)
        _ = limit.announce(1)
        _ = limit.settingsSent()
        _ = limit.settingsAcknowledged()
        #expect(limit.admits(openStreams: 0))
        #expect(!limit.admits(openStreams: 1))
    }

    @Test func `A greater number is admitted as soon as it is sent`() {
        var limit = acknowledged(1)
        _ = limit.announce(1_000)
        #expect(limit.current == 1)
        #expect(limit.settingsSent() == 1_000)
        #expect(limit.current == 1_000)
    }

    @Test func `A smaller number is admitted from its acknowledgement on`() {
        var limit = acknowledged(1_000)
        _ = limit.announce(1)
        _ = limit.settingsSent()
        #expect(limit.current == 1_000)
        _ = limit.settingsAcknowledged()
        #expect(limit.current == 1)
    }

    @Test func `The greatest of all on the way is admitted`() {
        var limit = acknowledged(1)
        for number in [5, 3] {
            _ = limit.announce(number)
            _ = limit.settingsSent()
        }
        #expect(limit.current == 5)
        _ = limit.settingsAcknowledged()
        #expect(limit.current == 5)
        _ = limit.settingsAcknowledged()
        #expect(limit.current == 3)
    }

    @Test func `Never more than the full number`() {
        var limit = ConcurrencyLimit(full: 10)
        _ = limit.announce(1_000)
        let number = limit.settingsSent()
        #expect(number == 10)
    }

    @Test func `A fifth change waits for an acknowledgement`() {
        var limit = ConcurrencyLimit(full: 10)
        let submitted = (1...6).map { limit.announce($0) }
        #expect(submitted == [true, true, true, true, false, false])
        for _ in 0..<4 { _ = limit.settingsSent() }
        let isAnotherDue = limit.settingsAcknowledged()
        #expect(isAnotherDue)
        let number = limit.settingsSent()
        #expect(number == 6)
    }

    @Test func `A change that was taken back is not announced`() {
        var limit = ConcurrencyLimit(full: 10)
        for number in 1...4 { _ = limit.announce(number) }
        _ = limit.announce(9)
        _ = limit.announce(4)
        for _ in 0..<4 { _ = limit.settingsSent() }
        let isAnotherDue = limit.settingsAcknowledged()
        #expect(!isAnotherDue)
    }

    private func acknowledged(_ number: Int) -> ConcurrencyLimit {
        var limit = ConcurrencyLimit(full: 1_000)
        _ = limit.announce(number)
        _ = limit.settingsSent()
        _ = limit.settingsAcknowledged()
        return limit
    }
}
