import Foundation

// Live Activities: what starts, changes and ends them, and the subscriptions that they need.
extension DeviceSystem {
    /// A broadcast channel of an app.
    struct ChannelOfApp: Equatable {
        let bundleID: String
        let channel: String
    }

    /// Starts a Live Activity of an app, as an app in the foreground can.
    /// - Parameters:
    ///   - bundleID: the app.
    ///   - attributesType: the name of the app's attributes type.
    ///   - attributes: a JSON dictionary in UTF-8.
    ///   - contentState: a JSON dictionary in UTF-8.
    ///   - updates: how it gets its updates.
    /// - Returns: nil if the app is not on the device, or if ``LiveActivities/maximumCount`` are on show.
    @discardableResult
    public func startActivity(
        of bundleID: String,
        attributesType: String,
        attributes: [UInt8],
        contentState: [UInt8],
        updates: LiveActivity.UpdateSource,
    ) -> LiveActivity? {
        guard apps[bundleID] != nil else { return nil }
        let now = now()
        let started = activities.start(
            LiveActivity(
                id: UUID(), bundleID: bundleID, attributesType: attributesType, attributes: attributes,
                updates: updates, started: now, contentState: contentState, timestamp: now.wholeSecond))
        guard let started else { return nil }
        activityChanged(started, .started)
        waitForActivities()
        return started
    }

    /// Sets how many updates of priority 10 an app's Live Activities may have.
    public func change(_ budget: LiveActivities.Budget, of bundleID: String) {
        activities.change(budget, of: bundleID)
    }

    /// Carries out a push for Live Activities. If it changes none of them, its alert is not shown either.
    func changeActivities(_ notification: ReceivedNotification, shows content: NotificationContent?) {
        let outcomes = activities.receive(notification, id: UUID(), at: now())
        if let content, outcomes.contains(where: \.isChange) { show(notification, content) }
        for outcome in outcomes {
            switch outcome {
            case .changed(let activity, let change): activityChanged(activity, change)
            case .ignored(let reason): report(.dropped(notification, reason))
            }
        }
        waitForActivities()
    }

    private func activityChanged(_ activity: LiveActivity, _ change: LiveActivity.Change) {
        report(.activity(activity, change))
        guard let device else { return }
        switch (change, activity.updates) {
        case (.started, .token):
            Task { await register(activity, on: device) }
        case (.started, .channel(let channel)), (.ended, .channel(let channel)), (.dismissed, .channel(let channel)):
            guard change == .started || !activities.uses(channel, of: activity.bundleID) else { return }
            let changed = ChannelOfApp(bundleID: activity.bundleID, channel: channel)
            if !changedChannels.contains(changed) { changedChannels.append(changed) }
            guard !isSubscribing else { return }
            isSubscribing = true
            Task { await changeSubscriptions() }
        default: break
        }
    }

    /// Subscribes the apps to the channels that their Live Activities use, and ends the other subscriptions.
    private func changeSubscriptions() async {
        defer { isSubscribing = false }
        while let device, !changedChannels.isEmpty {
            let changed = changedChannels.removeFirst()
            let isUsed = activities.uses(changed.channel, of: changed.bundleID)
            do throws(DeviceError) {
                if isUsed {
                    try await device.subscribe(changed.bundleID, to: changed.channel)
                } else {
                    try await device.unsubscribe(changed.bundleID, from: changed.channel)
                }
            } catch {
                // A subscription ends with the app at the latest.
                if isUsed { report(.problem(error)) }
            }
        }
    }

    private func register(_ activity: LiveActivity, on device: Device) async {
        do throws(DeviceError) {
            let token = try await device.register(activity.bundleID, activity: activity.id)
            report(.activityRegistered(activity, deviceToken: token))
            // An app that the user has ended does not run.
            guard state.running.contains(activity.bundleID) else { return }
            await apps[activity.bundleID]?.activityRegistered(activity, deviceToken: token)
        } catch {
            report(.problem(error))
        }
    }

    /// Waits until a Live Activity changes by itself.
    func waitForActivities() {
        activityTimer?.cancel()
        guard let due = activities.due else { return activityTimer = nil }
        let pause = Duration.seconds(max(0, due.timeIntervalSince(now())))
        activityTimer = Task { [clock, weak self] in
            guard (try? await clock.sleep(for: pause)) != nil else { return }
            await self?.activitiesAreDue()
        }
    }

    private func activitiesAreDue() {
        for (activity, change) in activities.tick(at: now()) { activityChanged(activity, change) }
        waitForActivities()
    }
}
