import Testing

@testable import APNSDevice

struct NotificationCentreTests {
    private func shown(
        _ id: Int, app: String = "com.example.app", thread: String = "", collapse: String? = nil,
        relevance: Double = 0,
    ) -> ShownNotification {
        var content = NotificationContent()
        content.body = "\(id)"
        content.threadID = thread
        content.relevanceScore = relevance
        return ShownNotification(
            ReceivedNotification(id: "\(id)", topic: app, bundleID: app, collapseID: collapse, payload: []), content)
    }

    @Test func `The newest stands first`() {
        var centre = NotificationCentre()
        centre.show(shown(1))
        centre.show(shown(2))
        #expect(centre.notifications.map(\.id) == ["2", "1"])
    }

    @Test func `One with the same collapse identifier on the same app is replaced`() {
        var centre = NotificationCentre()
        centre.show(shown(1, collapse: "score"))
        centre.show(shown(2, app: "com.example.other", collapse: "score"))
        centre.show(shown(3, collapse: "other"))
        centre.show(shown(4, collapse: "score"))
        #expect(centre.notifications.map(\.id) == ["4", "3", "2"])
    }

    @Test func `Those without a collapse identifier replace nothing`() {
        var centre = NotificationCentre()
        centre.show(shown(1))
        centre.show(shown(2))
        #expect(centre.notifications.count == 2)
    }

    @Test func `Groups are by app and thread, the one with the newest first`() {
        var centre = NotificationCentre()
        centre.show(shown(1, thread: "a"))
        centre.show(shown(2, thread: "b"))
        centre.show(shown(3, app: "com.example.other", thread: "a"))
        centre.show(shown(4, thread: "a"))
        let groups = centre.groups
        #expect(groups.map(\.threadID) == ["a", "a", "b"])
        #expect(groups.map { $0.notifications.map(\.id) } == [["4", "1"], ["3"], ["2"]])
    }

    @Test func `The most relevant of a group stands first, and the group with the newest`() {
        var centre = NotificationCentre()
        centre.show(shown(1, thread: "a", relevance: 0.9))
        centre.show(shown(2, thread: "a", relevance: 0.9))
        centre.show(shown(3, thread: "b", relevance: 1))
        centre.show(shown(4, thread: "a", relevance: 0.1))
        #expect(centre.groups.map { $0.notifications.map(\.id) } == [["2", "1", "4"], ["3"]])
    }

    @Test func `A badge: absent leaves it, 0 takes it away, a number sets it`() {
        var centre = NotificationCentre()
        centre.setBadge(3, of: "a")
        centre.setBadge(nil, of: "a")
        #expect(centre.badge(of: "a") == 3 && centre.badge(of: "b") == 0)
        centre.setBadge(0, of: "a")
        #expect(centre.badge(of: "a") == 0)
    }

    @Test func `An app that is removed leaves nothing`() {
        var centre = NotificationCentre()
        centre.show(shown(1))
        centre.setBadge(3, of: "com.example.app")
        centre.removeAll(of: "com.example.app")
        #expect(
            centre
                == {
                    var empty = NotificationCentre(); empty.show(shown(1)); empty.remove("1"); return empty
                }())
    }

    @Test func `The oldest goes when there are too many`() {
        var centre = NotificationCentre()
        for id in 0...NotificationCentre.maximumCount { centre.show(shown(id)) }
        #expect(centre.notifications.count == NotificationCentre.maximumCount)
        #expect(centre.notifications.last?.id == "1")
    }
}
