// Answers of /internal/config and /internal/keys.

export type SettingValue = string | number | boolean | null | (string | number)[];

export interface Setting {
  value: SettingValue;
  source: "default" | "file" | "set" | "environment" | "flag";
  where: string; // the flag, the variable, the place in the file
  default: string;
  applies: "now" | "next_load" | "restart";
  after_restart?: SettingValue; // if it differs from the value in force
  // With describe=true; older servers have none of these.
  group?: string;
  meaning?: string;
  expects?: string;
  choices?: string[];
  settable?: boolean; // false: at the start of the server only
  secret?: boolean;
  several_lines?: boolean;
}

export interface Config {
  settings: Record<string, Setting>;
  file: string;
  set_values_file: string;
  problem: string | null; // why the file is ignored
}

export interface Key {
  id: string;
  name: string;
  scopes: string[];
  created: number; // epoch ms
  last_used: number | null;
  max_in_flight?: number; // requests at a time; absent: the limit of the setting
  priority?: "background";
}
